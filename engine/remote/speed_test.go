package remote

import (
	"context"
	"math/rand/v2"
	"net"
	"testing"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/agent/agenttest"
)

// blobLike returns content that compresses about as well as a program (to 40 %).
func blobLike(size int) []byte {
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{7})
	for at := 0; at < size; at += 1000 {
		_, _ = random.Read(data[at:min(at+400, size)])
	}
	return data
}

// BenchmarkBlob sends a blob to an agent and reads it there, digest included.
// MB/s are of plain content.
func BenchmarkBlob(b *testing.B) {
	const size = 64 << 20
	contents := map[string][]byte{"program": blobLike(size), "random": make([]byte, size)}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(contents["random"])
	for _, kind := range []string{"program", "random"} {
		b.Run("pipe/"+kind, func(b *testing.B) {
			blobs := &agenttest.Blobs{}
			fetchLoop(b, overAPipe(b, blobs), blobs.Add(b, contents[kind]), size)
		})
		b.Run("ssh/"+kind, func(b *testing.B) {
			blobs := &agenttest.Blobs{}
			digest := blobs.Add(b, contents[kind])
			s, err := newTestHost(b, "", nil).connect(b, func(o *Options) { o.Blobs = blobs })
			if err != nil {
				b.Fatal(err)
			}
			fetchLoop(b, s, digest, size)
		})
	}
}

func fetchLoop(b *testing.B, s *Session, digest string, size int64) {
	b.SetBytes(size)
	for b.Loop() {
		r, err := agenttest.RunOne(b.Context(), s, "r1", agenttest.Step(b, "a", "fetch", agenttest.Fetch{Digest: digest}), false)
		if err != nil || r.Status != engine.StatusChanged {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}

// overAPipe returns a session with an agent in this process.
func overAPipe(b *testing.B, blobs Blobs) *Session {
	here, there := net.Pipe()
	go func() {
		_ = agent.Serve(context.Background(), there, there, testRegistry(), agent.ServeOptions{Root: b.TempDir()})
		_ = there.Close()
	}()
	s, err := openOver(here, Options{Host: "m1", Blobs: blobs})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkConnect makes a whole connection to a host that has the agent: SSH, probe,
// start, hello, good-bye.
func BenchmarkConnect(b *testing.B) {
	h := newTestHost(b, "", nil)
	binaries := ownBinaries()
	for b.Loop() {
		s, err := h.connect(b, func(o *Options) { o.Binaries = binaries })
		if err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}
