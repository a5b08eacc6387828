// Package packing has the form of a program that is embedded in another one and sent
// from there to hosts: a gzip stream, whose comment is the program's digest. A host
// gets the stream unchanged, and the digest is known without unpacking.
package packing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// File is a packed program.
type File []byte

// Pack compresses a program at the highest level.
func Pack(program []byte) (File, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	w.Comment = hex.EncodeToString(sum[:])
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Digest returns the hex SHA-256 of the program.
func (f File) Digest() (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(f))
	if err != nil || len(r.Comment) != 2*sha256.Size {
		return "", errors.New("it was packed by an older build and has no digest; run `make build`")
	}
	return r.Comment, nil
}

// Program unpacks.
func (f File) Program() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(f))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
