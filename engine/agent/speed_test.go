package agent

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"deployer/engine"
)

// blobLike is content that compresses about as well as a program (to 40 %).
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
			s := newBench(b, nil)
			fetchLoop(b, s.Session, s.blobs.add(b, contents[kind]), size)
		})
		b.Run("ssh/"+kind, func(b *testing.B) {
			blobs := &memory{}
			digest := blobs.add(b, contents[kind])
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
		r, err := s.RunOne(b.Context(), "r1", step(b, "a", "fetch", fetch{Digest: digest}), false)
		if err != nil || r.Status != engine.Altered {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}

// BenchmarkSegment is the cost of steps that find nothing to do.
func BenchmarkSegment(b *testing.B) {
	s := newBench(b, nil)
	content := bytes.Repeat([]byte("x"), 2000)
	if err := os.WriteFile(s.root+"/f", content, 0o600); err != nil {
		b.Fatal(err)
	}
	seg := engine.Segment{Run: "r1"}
	for i := range 50 {
		seg.Steps = append(seg.Steps, step(b, fmt.Sprint(i), "write", write{"/f", string(content)}))
	}
	for b.Loop() {
		if err := s.Run(b.Context(), seg, func(engine.Result) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/50, "µs/step")
}

// BenchmarkConnect is a whole connection to a host that has the agent: SSH,
// probe, start, hello, good-bye.
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
