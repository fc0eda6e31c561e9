//! Reading of objects' data: [`facts`] (what fields show), [`view`] (as
//! the viewer may see them), [`reader`] (reads them in batches), [`scope`] (one request),
//! [`loaders`] (reads that several fields request at the same moment), [`guards`] (who may read or write).

pub mod facts;
pub mod guards;
pub mod loaders;
pub mod reader;
pub mod scope;
pub mod view;
