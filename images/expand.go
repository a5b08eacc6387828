package images

import (
	"bufio"
	"context"
	"deployer/fileformat"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/gzip"
)

// expandedSuffix names the file that has the digest under which the store holds
// the content of a gzip file.
const expandedSuffix = ".expanded"

// Expanded returns the digest under which the store holds the content of a gzip
// file, in both forms, and makes it if need be; the digest of other content is its
// own. All content travels in zstd, and gzip below that would cost each host six
// times the processor time: 1.2 of an agent's 3.8 s in an install.
func (s *Store) Expanded(ctx context.Context, digest string) (string, error) {
	if found, err := s.root.ReadFile(contentName(digest) + expandedSuffix); err == nil {
		expanded := strings.TrimSpace(string(found))
		if _, err := s.Blob(expanded); !errors.Is(err, ErrMissing) {
			return expanded, err
		}
	}
	expanded, err := s.expand(ctx, digest)
	if err != nil {
		return "", fmt.Errorf("unpacking %s: %w", s.path(contentName(digest)), err)
	}
	return expanded, nil
}

func (s *Store) expand(ctx context.Context, digest string) (expanded string, err error) {
	if _, err := s.raw(digest); err != nil {
		return "", err
	}
	source, err := s.root.Open(contentName(digest))
	if err != nil {
		return "", err
	}
	defer source.Close()
	in := bufio.NewReader(contextReader{ctx, source})
	if fileformat.Peek(in) != fileformat.Gzip {
		return digest, nil
	}
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	p, err := s.begin(ctx, digest+expandedSuffix)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.Reset(); err != nil { // content that a killed process has left
		return "", err
	}
	if _, err := io.Copy(p, unzipped); err != nil {
		return "", errors.Join(err, p.discard())
	}
	if err := p.commit(); err != nil {
		return "", err
	}
	if err := s.Compressed(ctx, p.Digest()); err != nil {
		return "", err
	}
	return p.Digest(), renameio.WriteFile(contentName(digest)+expandedSuffix, []byte(p.Digest()+"\n"), 0o444, renameio.WithRoot(s.root))
}
