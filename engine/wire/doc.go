// Package wire is the protocol that the controller and the agent on a host
// speak over one pair of byte streams (the agent's standard input and output).
//
// # Frames
//
// A frame is a header of [HeaderSize] bytes and a payload:
//
//	offset 0  uint32  length of the payload, big endian, at most MaxFrame
//	offset 4  uint8   type; the top bit means "more frames of this message follow"
//	offset 5  uint32  id, big endian
//
// A message longer than one frame is cut into several of the same type and id;
// frames of other messages may stand between them. Payloads are JSON (see the
// message structs), raw bytes for [BlobChunk] and [BlobGrant], and the form of
// package packed for [Segment] and [Result], which are most of what is said.
//
// The id ties an answer to its question. The controller numbers segments,
// journal requests and locks, the agent numbers calls and blob requests; as no type is
// used in both directions for different purposes, the two never clash.
//
// # Flow control
//
// Results, calls and heartbeats are small and are sent at once. A blob is sent
// in chunks, and never more than the receiver has granted ([Window] bytes to
// begin with), so the receiver can always take in what arrives, and a consumer
// that is slow to read one blob holds up nothing else.
//
// Neither end trusts the other's bytes: lengths are bounded before memory is
// taken, for each type and end by itself (see [End]), and what does not fit the
// protocol is an error that ends the connection, never a panic.
package wire
