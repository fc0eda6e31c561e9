//! Replay of the fuzz corpus.

use std::{fs, path::Path};

use plaudit::fuzzing::{TARGETS, run};

#[test]
fn every_property_holds_for_the_fuzz_corpus() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    for (name, _) in TARGETS {
        let target = fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("run(\"{name}\"")), "{name}");
        let corpus: Vec<_> = fs::read_dir(fuzz.join("corpus").join(name)).unwrap().flatten().collect();
        assert!((5..100).contains(&corpus.len()), "{name}: {}", corpus.len());
        for entry in corpus {
            let bytes = fs::read(entry.path()).unwrap();
            // Printed when the test fails.
            println!("{}", entry.path().display());
            run(name, &bytes);
        }
    }
}
