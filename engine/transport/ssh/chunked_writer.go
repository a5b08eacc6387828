package ssh

import "io"

// chunkedWriter writes short data in small chunks. For each connection,
// golang.org/x/crypto/ssh keeps two buffers of the size of the largest chunk ever
// sent, which adds up over a thousand connections; long data is sent in large chunks
// for speed.
type chunkedWriter struct{ io.WriteCloser }

const (
	shortWrite = 128 << 10
	smallPiece = 4 << 10
)

func (w chunkedWriter) Write(p []byte) (int, error) {
	if len(p) >= shortWrite {
		return w.WriteCloser.Write(p)
	}
	done := 0
	for done < len(p) {
		n, err := w.WriteCloser.Write(p[done:min(done+smallPiece, len(p))])
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}
