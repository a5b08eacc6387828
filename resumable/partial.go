package resumable

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// File is the file of a Partial, such as an *os.File that is open for reading and
// writing.
type File interface {
	io.Reader
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// Partial is the file of a download, with the digest of its content so far. Only one
// goroutine may use it at a time.
type Partial struct {
	file File
	sum  hash.Hash
	size int64
}

// NewPartial reads the content of a file, whose offset is 0, and continues at its end.
func NewPartial(file File) (*Partial, error) {
	p := &Partial{file: file, sum: sha256.New()}
	var err error
	p.size, err = io.Copy(p.sum, file)
	return p, err
}

// Write appends. Its errors are of the type *WriteError.
func (p *Partial) Write(content []byte) (int, error) {
	n, err := p.file.Write(content)
	p.sum.Write(content[:n])
	p.size += int64(n)
	if err != nil {
		return n, &WriteError{err}
	}
	return n, nil
}

// WriteError is an error of the file, such as a full disk: another attempt to download
// would repeat it.
type WriteError struct{ error }

func (e *WriteError) Unwrap() error { return e.error }

// Size returns the size of the content in bytes.
func (p *Partial) Size() int64 { return p.size }

// Digest returns the SHA-256 of the content in hex.
func (p *Partial) Digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// Reset drops the content.
func (p *Partial) Reset() error {
	p.sum.Reset()
	p.size = 0
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}
