//! An address that leads to one server now and to another one later, as that of a primary does.

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A port of this machine that leads to another one.
pub struct Proxy {
    pub port: u16,
    target: watch::Sender<u16>,
}

impl Proxy {
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, receiver) = watch::channel(target);
        tokio::spawn(accept(listener, receiver));
        Self { port, target: sender }
    }

    /// Ends all connections; new ones lead to the other port.
    pub fn lead_to(&self, target: u16) {
        self.target.send_replace(target);
    }
}

/// Ends with the [`Proxy`].
async fn accept(listener: TcpListener, mut target: watch::Receiver<u16>) {
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                tokio::spawn(carry(client, target.clone()));
            }
            changed = target.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

async fn carry(mut client: TcpStream, mut target: watch::Receiver<u16>) {
    let port = *target.borrow_and_update();
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = target.changed() => {}
    }
}
