// Package objectstore keeps files in an S3-compatible object store: copies of backups, which
// [Store.Upload] writes, [Store.List] lists and [Store.Download] reads.
//
// An object counts when it has been read back: its size, its SHA-256 in the metadata, and
// the checksum that the store has computed must be those of the file. An upload that fails
// leaves no object and no parts. A store is not trusted: what it sends is bounded in size,
// number and time, and is authentic only by what the caller verifies. The package starts no goroutines of its own; every call
// ends when the store is silent for a minute.
package objectstore
