// Package protocol is the protocol between the controller and the agent on a host, over
// one pair of byte streams (the agent's standard input and output).
//
// # Frames
//
// A frame is a header of [HeaderSize] bytes and a payload:
//
//	offset 0  uint32  length of the payload, big endian, at most MaxFrame
//	offset 4  uint8   type; the top bit means "more frames of this message follow"
//	offset 5  uint32  id, big endian
//
// A message longer than one frame is cut into several frames of the same type and
// id; frames of other messages may stand between them. Payloads are JSON (see the
// message structs), raw bytes for [BlobChunk] and [BlobGrant], a line of JSON with raw
// bytes behind it for [Record] and [RecordReply], and the encoding of package codec for
// [Segment] and [Result], which are most of the traffic.
//
// The id connects an answer with its request. The controller numbers segments,
// journal requests, locks and records, the agent numbers calls and blob requests; no type is
// used in both directions for different purposes, so the two never clash.
//
// # Flow control
//
// Results, calls and heartbeats are small and are sent at once. A blob is sent in
// chunks within the credit that the receiver has granted ([Window] bytes at first),
// so the receiver always has room for a chunk that arrives, and a slow reader of one
// blob delays nothing else.
//
// Neither end trusts the other's bytes: lengths are limited before memory is
// allocated, by type and end (see [End]), and a violation of the protocol is an
// error that ends the connection, never a panic.
package protocol
