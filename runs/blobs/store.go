// Package blobs serves the content that agents request by SHA-256 digest: artifacts,
// files of roles, and content that the run renders itself.
package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"deployer/engine"
	"deployer/engine/remote"
	"deployer/images"
	"deployer/project"
)

// Store has the blobs of a run by digest. Store is safe for concurrent use.
type Store struct {
	resolver    *images.Resolver
	agents      remote.BinarySource
	source      project.KeeperSource
	tagArch     string // the architecture whose agent gives the probe's tag
	enc         *zstd.Encoder
	mu          sync.Mutex
	memory      map[string]memoryBlob // by digest of the plain content
	memoryBytes int                   // bytes in made
	probes      map[string]engine.Blob
	programs    map[[2]string]engine.Blob // embedded ones, by name and architecture
	files       map[any]*packedFile       // by key of the file
	temp        map[string]*tempBlob      // by digest of the plain content
}

// memoryBlob is zstd-compressed content in memory.
type memoryBlob struct {
	packed []byte
	size   int64 // bytes of the plain content
}

// maxMemory is the maximum size of compressed blobs in memory. Further blobs are in
// unlinked temporary files.
const maxMemory = 64 << 20

// New returns a store with the artifacts of a project.
func New(p *project.Project) (*Store, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return &Store{resolver: p.Artifacts, agents: p.Agents, source: p.Keepers, tagArch: p.Arch, enc: enc, memory: map[string]memoryBlob{},
		probes: map[string]engine.Blob{}, programs: map[[2]string]engine.Blob{}, files: map[any]*packedFile{}, temp: map[string]*tempBlob{}}, nil
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
	if _, ok := b.memory[digest]; ok || b.temp[digest] != nil {
		return digest
	}
	packed := b.enc.EncodeAll(content, nil)
	if b.memoryBytes+len(packed) > maxMemory {
		if s, err := writeTemp(packed, int64(len(content))); err == nil {
			b.temp[digest] = s
			return digest
		} // without disk space the blob stays in memory
	}
	b.memoryBytes += len(packed)
	b.memory[digest] = memoryBlob{packed: packed, size: int64(len(content))}
	return digest
}

// Artifact implements schedule.Artifacts.
func (b *Store) Artifact(ctx context.Context, name, version, arch string) (engine.Blob, error) {
	if name == project.ProbeName {
		return b.probe(arch)
	}
	if name == project.KeeperName || name == project.AgentName {
		return b.program(name, arch)
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

// program returns a program that this one carries for hosts.
func (b *Store) program(name, arch string) (engine.Blob, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := [2]string{name, arch}
	if blob, ok := b.programs[key]; ok {
		return blob, nil
	}
	read := b.agents.AgentBinary
	if name == project.KeeperName {
		if b.source == nil {
			return engine.Blob{}, errors.New("this program has no keepers")
		}
		read = b.source.KeeperBinary
	}
	program, err := read(arch)
	if err != nil {
		return engine.Blob{}, err
	}
	blob := engine.Blob{Digest: b.add(program), Size: int64(len(program))}
	b.programs[key] = blob
	return blob, nil
}

// probeImage builds the probe image for an architecture. Its tag is that of the first
// architecture of the inventory, so that the image has one name on all nodes.
func (b *Store) probeImage(arch string) (images.Probe, error) {
	named, err := b.agents.AgentDigest(b.tagArch)
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
	made, ok := b.memory[digest]
	spooled := b.temp[digest]
	b.mu.Unlock()
	if spooled != nil {
		stream, size := spooled.open()
		return stream, size, nil
	}
	if ok {
		return memoryReader{bytes.NewReader(made.packed)}, made.size, nil
	}
	packed, size, err := b.resolver.Store.OpenCompressed(digest)
	if err != nil {
		return nil, 0, err
	}
	return packed, size, nil
}

// OpenShared implements tracker.Blobs: artifacts are the same on all hosts. Files of users and
// rendered content may be secrets, and the controller sends these.
func (b *Store) OpenShared(digest string) (packed io.ReadCloser, size int64, ok bool, err error) {
	b.mu.Lock()
	_, made := b.memory[digest]
	made = made || b.temp[digest] != nil
	b.mu.Unlock()
	if made {
		return nil, 0, false, nil
	}
	file, _, err := b.resolver.Store.OpenCompressed(digest)
	if err != nil {
		return nil, 0, false, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, false, err
	}
	return file, info.Size(), true, nil
}

// memoryReader is a stream with a known length, for progress.
type memoryReader struct{ *bytes.Reader }

// Close implements io.Closer.
func (memoryReader) Close() error { return nil }
