//! Metrics of this process, under the names that Prometheus' client libraries use.

use metrics::{counter, gauge};
use procfs::{
    ProcResult, WithCurrentSystemInfo,
    process::{LimitValue, Process},
};

/// Reads some files of `/proc`, and a directory with an entry per open file.
pub fn measure() -> ProcResult<()> {
    let process = Process::myself()?;
    let stat = process.stat()?;
    let cpu_s = (stat.utime + stat.stime) / procfs::ticks_per_second();
    counter!("process_cpu_seconds_total").absolute(cpu_s);
    gauge!("process_resident_memory_bytes").set(stat.rss_bytes().get() as f64);
    gauge!("process_open_fds").set(process.fd_count()? as f64);
    if let LimitValue::Value(most) = process.limits()?.max_open_files.soft_limit {
        gauge!("process_max_fds").set(most as f64);
    }
    Ok(())
}
