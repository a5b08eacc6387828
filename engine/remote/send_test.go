package remote

import (
	"bytes"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestSendsOnlySoFarAhead: the number of unread chunks is bounded, and the end of the probe
// ends the wait.
func TestSendsOnlySoFarAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := bytes.Repeat([]byte("x"), 5*sendChunk+1)
		var sent atomic.Int64
		ahead, over, done := make(chan struct{}, chunksInFlight), make(chan struct{}), make(chan error)
		var out bytes.Buffer
		go func() { done <- writeChunks(&out, data, &sent, ahead, over) }()
		for taken := range 3 {
			synctest.Wait()
			if want := int64(chunksInFlight+taken) * sendChunk; sent.Load() != want {
				t.Fatalf("after %d pieces were taken %d bytes are sent, want %d", taken, sent.Load(), want)
			}
			<-ahead
		}
		close(over)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, out.Bytes()) || out.Len() == len(data) {
			t.Errorf("%d bytes of %d are written", out.Len(), len(data))
		}
	})
}

// TestTakenTwice: acknowledgements of chunks that were never sent do not block the
// controller.
func TestTakenTwice(t *testing.T) {
	t.Parallel()
	p := &probe{probeAnswers: probeAnswers{begun: true}, inFlight: make(chan struct{}, chunksInFlight)}
	p.inFlight <- struct{}{}
	for range 3 {
		if p.parseLine("taken=") {
			t.Fatal("the host waits")
		}
	}
	if len(p.inFlight) != 0 {
		t.Errorf("%d pieces are on their way", len(p.inFlight))
	}
}
