// Package content holds what hosts may ask a run for: artifacts, files of roles,
// and what a run makes itself.
package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"deployer/engine"
	"deployer/engine/remote"
	"deployer/images"
	"deployer/project"
)

// Store is the content that hosts may ask for, by its digest. It is safe for
// concurrent use.
type Store struct {
	resolver *images.Resolver
	agents   remote.BinarySource
	tagOf    string // the architecture whose agent gives the probe's tag
	enc      *zstd.Encoder
	mu       sync.Mutex
	made     map[string]madeBlob // by digest of the plain content
	inMemory int                 // bytes in made
	probes   map[string]engine.Blob
	files    map[any]*roleFile // by what names them in the run
	spooled  map[string]*spool // by digest of the plain content
}

// madeBlob is content in its zstd form.
type madeBlob struct {
	packed []byte
	size   int64 // bytes of the plain content
}

// maxMade is how many bytes of made content in its zstd form are kept in memory.
// What is beyond lies in files without names, one each.
const maxMade = 64 << 20

// New returns a store with the artifacts of a project.
func New(p *project.Project) (*Store, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return &Store{resolver: p.Artifacts, agents: p.Agents, tagOf: p.Arch, enc: enc, made: map[string]madeBlob{},
		probes: map[string]engine.Blob{}, files: map[any]*roleFile{}, spooled: map[string]*spool{}}, nil
}

// AddBlob implements schedule.Blobs.
func (b *Store) AddBlob(content []byte) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(content)
}

func (b *Store) add(content []byte) string {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	if _, ok := b.made[digest]; ok || b.spooled[digest] != nil {
		return digest
	}
	packed := b.enc.EncodeAll(content, nil)
	if b.inMemory+len(packed) > maxMade {
		if s, err := spoolPacked(packed, int64(len(content))); err == nil {
			b.spooled[digest] = s
			return digest
		} // a full disk: memory is what is left
	}
	b.inMemory += len(packed)
	b.made[digest] = madeBlob{packed: packed, size: int64(len(content))}
	return digest
}

// Artifact implements schedule.Artifacts.
func (b *Store) Artifact(ctx context.Context, name, version, arch string) (engine.Blob, error) {
	if name == project.ProbeName {
		return b.probe(arch)
	}
	blob, err := b.resolver.Resolve(ctx, images.Ref{Name: name, Version: version, Arch: arch})
	if err != nil {
		return engine.Blob{}, err
	}
	return engine.Blob{Digest: blob.Digest, Size: blob.Size, Expanded: blob.Expanded}, nil
}

func (b *Store) probe(arch string) (engine.Blob, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if blob, ok := b.probes[arch]; ok {
		return blob, nil
	}
	image, err := b.probeImage(arch)
	if err != nil {
		return engine.Blob{}, err
	}
	blob := engine.Blob{Digest: b.add(image.Archive), Size: int64(len(image.Archive))}
	b.probes[arch] = blob
	return blob, nil
}

// probeImage makes the probe for an architecture, with the tag of another one:
// the first that the inventory names, so that all nodes know it by one name.
func (b *Store) probeImage(arch string) (images.Probe, error) {
	named, err := b.agents.AgentDigest(b.tagOf)
	if err != nil {
		return images.Probe{}, err
	}
	program, err := b.agents.AgentBinary(arch)
	if err != nil {
		return images.Probe{}, err
	}
	return images.ProbeImage(images.ProbeTag(named), program, arch)
}

// Download implements schedule.Blobs.
func (b *Store) Download(ctx context.Context, url, digest string) (engine.Blob, error) {
	blob, err := b.resolver.Store.FromAddress(ctx, url, digest)
	return engine.Blob{Digest: blob.Digest, Size: blob.Size}, err
}

// Open implements remote.Blobs.
func (b *Store) Open(digest string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	made, ok := b.made[digest]
	spooled := b.spooled[digest]
	b.mu.Unlock()
	if spooled != nil {
		stream, size := spooled.open()
		return stream, size, nil
	}
	if ok {
		return inMemory{bytes.NewReader(made.packed)}, made.size, nil
	}
	packed, size, err := b.resolver.Store.OpenCompressed(digest)
	if err != nil {
		return nil, 0, err
	}
	return packed, size, nil
}

// inMemory is a stream whose length is known, so that progress can be shown.
type inMemory struct{ *bytes.Reader }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }
