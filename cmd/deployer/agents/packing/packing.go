// Package packing is the form in which a program travels inside another: a zstd
// stream behind a frame that holds the program's digest, which every reader of
// zstd skips. So the digest is known without unpacking.
package packing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// skippable is the magic number of a frame with data for those who know of it
// (RFC 8878, 3.1.2); any of sixteen will do.
const skippable = 0x184D2A5D

// header is what stands before the digest: the magic number and the length of
// the digest, both little endian.
var header = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, skippable), sha256.Size)

// File is a packed program.
type File []byte

// Pack compresses a program as much as it can be.
func Pack(program []byte) (File, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	return enc.EncodeAll(program, append(bytes.Clone(header), sum[:]...)), nil
}

// Digest returns the hex SHA-256 of the program.
func (f File) Digest() (string, error) {
	rest, ok := bytes.CutPrefix(f, header)
	if !ok || len(rest) < sha256.Size {
		return "", errors.New("it was packed by an older build and has no digest; run `make build`")
	}
	return hex.EncodeToString(rest[:sha256.Size]), nil
}

// Program unpacks.
func (f File) Program() ([]byte, error) {
	dec, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(f, nil)
}
