package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxChunk is the maximum size of an unpacked chunk in bytes: the report of some 50 000
// hosts, or a plan.
const maxChunk = 16 << 20

// lengthSize is the size in bytes of the length before and behind a chunk.
const lengthSize = 4

// encoder packs chunks. Its level costs the controller least.
var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithSingleSegment(true))

// decoder unpacks chunks of hosts, in bounded memory.
var decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunk), zstd.WithDecodeAllCapLimit(true))

// appendFormat appends the first line of a record.
func appendFormat(out []byte) []byte { return fmt.Appendf(out, "{\"format\":%d}\n", Format) }

// appendChunk appends lines as a chunk.
func appendChunk(out, lines []byte) []byte {
	at := len(out)
	out = encoder.EncodeAll(lines, append(out, 0, 0, 0, 0))
	n := uint32(len(out) - at - lengthSize)
	binary.BigEndian.PutUint32(out[at:], n)
	return binary.BigEndian.AppendUint32(out, n)
}

// cutFormat returns the chunks of a record. The error is a *FormatError for one of an
// unknown format.
func cutFormat(data []byte) ([]byte, error) {
	head, chunks, found := bytes.Cut(data[:min(len(data), 64)], []byte{'\n'})
	var format struct {
		Format int `json:"format"`
	}
	if !found || json.Unmarshal(head, &format) != nil {
		return nil, errors.New("the record does not begin with the number of its format")
	}
	if format.Format != Format {
		return nil, &FormatError{format.Format}
	}
	return data[len(data[:min(len(data), 64)])-len(chunks):], nil
}

// FormatError is the error for a record of an unknown format.
type FormatError struct{ Format int }

func (e *FormatError) Error() string {
	return fmt.Sprintf("the record has format %d, and this version of deployer knows format %d: use the version of deployer that wrote it", e.Format, Format)
}

// nextChunk unpacks the first chunk and returns the bytes behind it. A truncated chunk is
// errTruncated.
func nextChunk(data []byte) (lines, rest []byte, err error) {
	if len(data) < lengthSize {
		return nil, nil, errTruncated
	}
	n := int64(binary.BigEndian.Uint32(data))
	switch whole := n + 2*lengthSize; {
	case n > MaxSize:
		return nil, nil, fmt.Errorf("a chunk of %d bytes, the limit is %d", n, MaxSize)
	case int64(len(data)) < whole:
		return nil, nil, errTruncated
	case binary.BigEndian.Uint32(data[lengthSize+n:]) != uint32(n):
		return nil, nil, errors.New("the two lengths of a chunk differ")
	default:
		lines, err = unpack(data[lengthSize : lengthSize+n])
		return lines, data[whole:], err
	}
}

// lastChunk unpacks the chunk at the end of a record, of which data is the last part.
func lastChunk(data []byte) ([]byte, error) {
	if len(data) < 2*lengthSize {
		return nil, errTruncated
	}
	n := int(binary.BigEndian.Uint32(data[len(data)-lengthSize:]))
	if n > len(data)-2*lengthSize {
		return nil, errTruncated
	}
	lines, _, err := nextChunk(data[len(data)-n-2*lengthSize:])
	return lines, err
}

// errTruncated is the error for the part of a chunk.
var errTruncated = errors.New("the chunk is truncated")

func unpack(frame []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(frame); err != nil {
		return nil, fmt.Errorf("unpacking a chunk: %w", err)
	}
	if !head.HasFCS || head.FrameContentSize > maxChunk {
		return nil, fmt.Errorf("unpacking a chunk: its size is unknown or above %d bytes", maxChunk)
	}
	lines, err := decoder.DecodeAll(frame, make([]byte, 0, head.FrameContentSize))
	if err != nil {
		return nil, fmt.Errorf("unpacking a chunk: %w", err)
	}
	return lines, nil
}
