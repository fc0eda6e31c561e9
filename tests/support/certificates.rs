//! Certificates of test servers and of their clients, in files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

use super::own_servers::give_to_postgres;

/// A CA with its certificate in a file.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: PathBuf,
    /// Its certificate.
    pub file: PathBuf,
}

/// A certificate and its key, in files that PostgreSQL may read.
pub struct Certificate {
    pub file: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    /// `name` is that of its files in the directory, too.
    pub fn new(directory: &Path, name: &str) -> Self {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = directory.join(format!("{name}.pem"));
        fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, directory: directory.to_owned(), file }
    }

    /// For a server on this host.
    pub fn of_host(&self, host: &str) -> Certificate {
        self.sign(host, CertificateParams::new([host.to_owned()]).unwrap())
    }

    /// For a server on this host, until some time in the past.
    pub fn expired(&self, host: &str) -> Certificate {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(&format!("{host}-expired"), params)
    }

    /// For a client, whose user has this name.
    pub fn of_client(&self, user: &str) -> Certificate {
        self.sign(&format!("client-{user}"), named(user))
    }

    fn sign(&self, name: &str, params: CertificateParams) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let stem = format!("{}-{name}", self.file.file_stem().unwrap().to_str().unwrap());
        let path = |end: &str| self.directory.join(format!("{stem}.{end}"));
        let signed = Certificate { file: path("pem"), key: path("key") };
        fs::write(&signed.file, certificate.pem()).unwrap();
        fs::write(&signed.key, key.serialize_pem()).unwrap();
        give_to_postgres(&signed.key);
        signed
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
