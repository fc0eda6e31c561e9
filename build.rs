//! Pages are embedded at compile time; new files among them must be noticed.

fn main() {
    println!("cargo:rerun-if-changed=web-demo/dist");
    println!("cargo:rerun-if-changed=migrations");
}
