package ssh

import "io"

// chunkedWriter writes what is short in small pieces, in bytes. golang.org/x/crypto/ssh
// keeps two buffers of each connection as large as the largest piece that it ever
// sent, which for a thousand connections adds up; and what is long shall be fast.
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
