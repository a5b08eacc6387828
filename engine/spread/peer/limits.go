package peer

import "time"

// ChunkSize is the size of the chunks of blobs in bytes; the last one of a blob may be smaller. A
// smaller chunk reaches the end of a long chain earlier, and costs more requests.
const ChunkSize = 4 << 20

// MaxChunks is the maximum number of chunks of a blob: 64 GiB.
const MaxChunks = 16 << 10

// Time limits of clients.
const (
	// DialTimeout bounds the connection to a peer with its handshake. A packet filter that drops
	// packets costs two of these before the host is served by the controller.
	DialTimeout = 3 * time.Second
	// ResponseTimeout is the time without an answer after which a source counts as dead.
	ResponseTimeout = 6 * time.Second
	// StarveTimeout is the time after which a source without a further chunk is reported.
	StarveTimeout = 3 * time.Second
	// ChunkTimeout bounds the transfer of one chunk.
	ChunkTimeout = 20 * time.Second
	// Patience is the time for which a host waits for a source before the controller serves it.
	Patience = 15 * time.Second
	// ReportInterval is the interval of reports of progress.
	ReportInterval = 250 * time.Millisecond
	// ReportAtOnce is the duration of a chunk that is reported at once, as it may be slow.
	ReportAtOnce = 500 * time.Millisecond
)

// Limits of servers.
const (
	maxConnections = 16 // open, with those in the handshake
	maxRequests    = 6  // that send bytes at one time: those of two plans
	maxHeader      = 4 << 10
	headerTimeout  = 5 * time.Second
	idleTimeout    = time.Minute
	// waitTimeout is the time for which a request waits for a chunk that is on its way.
	waitTimeout = time.Second
	// stallTimeout bounds the time in which a client takes a part of a chunk.
	stallTimeout = 10 * time.Second
)

// DefaultBytesPerSecond is the default maximum of bytes per second that a host sends to peers: a
// line of 1 Gb/s less a part for its users.
const DefaultBytesPerSecond = 100 << 20

// minFree is the number of bytes on the disk of the state directory that a spool leaves free.
const minFree = 512 << 20
