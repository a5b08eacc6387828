package images

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"deployer/resumable"
)

// Bundle is a source in one file, see [Resolver.WriteBundle].
//
// The file is opened once, so that another file that gets its name later is not read. The
// descriptor lives as long as the Bundle.
type Bundle struct {
	path    string
	file    *os.File
	index   *Index
	members map[string]section
}

// OpenBundle opens the bundle at path. With the path of a minisign public key its
// signature, path with the ending .minisig, must be by that key; an empty key accepts any
// bundle. The index comes from the bytes that were verified. The reader verifies content, as
// from every source.
func OpenBundle(path, publicKey string) (*Bundle, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening bundle: %w", err)
	}
	b := &Bundle{path: path, file: file}
	read := func(r io.Reader) error {
		document, members, err := bundleMembers(r, file)
		b.index, b.members = &document.Index, members
		return err
	}
	if publicKey == "" {
		err = read(file)
	} else {
		err = readSigned(file, path, publicKey, read)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("bundle %s: %w", path, err)
	}
	return b, nil
}

// String names the bundle.
func (b *Bundle) String() string { return "bundle " + b.path }

// Versions returns the versions of the index.
func (b *Bundle) Versions() map[string]string { return b.index.Versions }

// Offer returns the digest in the index.
func (b *Bundle) Offer(_ context.Context, a Artifact, ref Ref) (Offer, error) {
	entry, ok := b.index.Find(ref)
	if !ok {
		return Offer{}, final{fmt.Errorf("%s holds no %s: make one with: deployer images bundle", b, ref)}
	}
	if entry.Kind != a.Kind {
		return Offer{}, final{fmt.Errorf("%s: %s is of kind %s, the catalogue says %s", b, ref, entry.Kind, a.Kind)}
	}
	return Offer{SHA256: entry.SHA256, Manifest: entry.Manifest, Address: "bundle:" + filepath.Base(b.path)}, nil
}

// Open fails at once when the index has another digest than wanted. Content begins at its
// start, whatever offset is.
func (b *Bundle) Open(ctx context.Context, a Artifact, ref Ref, want Offer, _ int64) (resumable.Content, error) {
	offer, err := b.Offer(ctx, a, ref)
	if err != nil {
		return resumable.Content{}, err
	}
	if offer.SHA256 != want.SHA256 {
		return resumable.Content{}, fmt.Errorf("%s offers sha256 %s: %w", b, offer.SHA256, ErrMismatch)
	}
	entry, _ := b.index.Find(ref)
	member := b.members[entry.File]
	decoder, err := zstd.NewReader(io.NewSectionReader(b.file, member.offset, member.size))
	if err != nil {
		return resumable.Content{}, fmt.Errorf("%s: %w", b, err)
	}
	return resumable.Content{ReadCloser: decoder.IOReadCloser(), Total: entry.Size}, nil
}
