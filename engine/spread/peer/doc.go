// Package peer is the part of hosts in the distribution of large blobs: a server that gives
// chunks of blobs to other hosts of the same run, and a client that fetches them.
//
// # Wire
//
// Hosts speak HTTP/1.1 over TLS 1.3. Both ends prove with certificates of the run who they are:
// the controller makes an authority for each run in its memory, and sends each host one
// certificate with its key over the session that exists. The only request is
//
//	GET /blob/DIGEST
//	Range: bytes=FIRST-LAST
//	Authorization: Bearer TICKET
//
// where DIGEST is the SHA-256 of the plain content and the range is one of its zstd form, which
// the controller cuts into chunks of [ChunkSize] bytes. The ticket proves that the controller
// has assigned this source to this client for this blob. A server that does not have the range
// yet answers 503 after a short wait.
//
// # Trust
//
// What a peer sends is a claim. A [Spool] stores a chunk, serves it and lets it be read only after
// its SHA-256 was that which the controller has named. A server gives a blob only to hosts to which
// the controller gives it, too.
//
// # Bounds
//
// A [Server] bounds connections, requests in flight, header sizes, the time of each request and the
// bytes per second of all. Spools are files with mode 0600 in a directory of root; they are
// removed at the end of the session.
package peer
