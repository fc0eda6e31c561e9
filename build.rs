//! Pages are embedded at compile time; new files among them must be noticed. And the version, with the commit if the build
//! was told of it: what is built of one commit has one version, whenever and wherever.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=web-demo/dist");
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-env-changed=BUILD_REVISION");
    let version = env::var("CARGO_PKG_VERSION").expect("set by cargo");
    let revision = env::var("BUILD_REVISION").ok().filter(|revision| !revision.is_empty());
    let commit = revision.map_or(String::new(), |revision| format!(" ({revision})"));
    println!("cargo:rustc-env=BUILD_VERSION={version}{commit}");
}
