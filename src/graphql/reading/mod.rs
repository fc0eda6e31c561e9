//! Reading of objects' data: [`scope`] (the data of one request), [`loaders`] (batches of reads),
//! [`prefetch`] (a whole page at once), [`pages`] (connections and cursors), [`guards`] (who may read or write).

pub mod guards;
pub mod loaders;
pub mod pages;
pub mod prefetch;
pub mod scope;
