package blobs

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"deployer/project"
)

// TestFileIsCompressedOnce checks that a file is opened once for all hosts, and stored
// once for all names.
func TestFileIsCompressedOnce(t *testing.T) {
	b, err := New(&project.Project{Arch: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("a large file "), 100_000)
	var opened atomic.Int32
	open := func() (io.ReadCloser, error) {
		opened.Add(1)
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			blob, err := b.AddFile(t.Context(), "key", open)
			if err != nil || blob.Size != int64(len(content)) {
				t.Errorf("%+v, %v", blob, err)
				return
			}
			stream, size, err := b.Open(blob.Digest)
			if err != nil || size != blob.Size {
				t.Errorf("opening: %d, %v", size, err)
				return
			}
			defer stream.Close()
			unpacked, err := zstd.NewReader(stream)
			if err != nil {
				t.Error(err)
				return
			}
			defer unpacked.Close()
			if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, content) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	group.Wait()
	if n := opened.Load(); n != 1 {
		t.Errorf("the file was opened %d times", n)
	}
	if blob, err := b.AddFile(t.Context(), "other name", open); err != nil || len(b.temp) != 1 {
		t.Errorf("%+v, %v, %d spools for one content", blob, err, len(b.temp))
	}
}

func TestAddFileStopsWithContext(t *testing.T) {
	b, err := New(&project.Project{Arch: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.AddFile(ctx, "key", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil })
	if err == nil || len(b.temp) != 0 {
		t.Errorf("error %v, %d spools", err, len(b.temp))
	}
}

// TestMemoryIsBounded checks that blobs above maxMemory go to temporary files, and that
// all of them can be opened.
func TestMemoryIsBounded(t *testing.T) {
	b, err := New(&project.Project{Arch: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	source := rand.NewChaCha8([32]byte{1})
	contents := map[string][]byte{}
	for range 5 {
		content := make([]byte, maxMemory/4+1) // which does not pack
		_, _ = source.Read(content)
		contents[b.AddBlob(content)] = content
		if again := b.AddBlob(content); contents[again] == nil {
			t.Error("the same content has two digests")
		}
	}
	if b.memoryBytes > maxMemory || len(b.memory) != 3 || len(b.temp) != 2 {
		t.Errorf("%d bytes in memory, %d blobs, %d in files", b.memoryBytes, len(b.memory), len(b.temp))
	}
	for digest, content := range contents {
		stream, size, err := b.Open(digest)
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%d, %v", size, err)
		}
		unpacked, err := zstd.NewReader(stream)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, content) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		unpacked.Close()
		stream.Close()
	}
}
