package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// sendBlob sends a blob in chunks within the credit.
func sendBlob(ctx context.Context, c *Conn, id uint32, credit *Credit, data []byte) error {
	for len(data) > 0 {
		n, err := credit.Take(ctx, min(ChunkSize, len(data)))
		if err != nil {
			return err
		}
		if err := c.Send(BlobChunk, id, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return c.SendJSON(BlobEnd, id, EndMessage{})
}

// TestSlowBlobBlocksNothing: an unread blob delays neither another blob nor results.
func TestSlowBlobBlocksNothing(t *testing.T) {
	receiver, sender := pipe(t)
	data := make([]byte, 5*Window)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	streams := map[uint32]*Stream{1: NewStream(receiver, 1), 2: NewStream(receiver, 2)}
	credits := map[uint32]*Credit{1: NewCredit(), 2: NewCredit()}
	results := make(chan struct{}, 100)
	go func() {
		for {
			f, err := receiver.Receive()
			if err != nil {
				return
			}
			switch f.Type {
			case BlobChunk:
				if err := streams[f.ID].Push(f.Payload); err != nil {
					t.Errorf("push: %v", err)
				}
			case BlobEnd:
				streams[f.ID].End(nil)
			default:
				results <- struct{}{}
			}
		}
	}()
	go func() {
		for {
			f, err := sender.Receive()
			if err != nil {
				return
			}
			n, err := f.Grant()
			if err == nil {
				err = credits[f.ID].Add(n)
			}
			if err != nil {
				t.Errorf("grant: %v", err)
			}
		}
	}()
	ctx := t.Context()
	for id := range streams {
		go func() { _ = sendBlob(ctx, sender, id, credits[id], data) }()
	}
	check := func(id uint32) {
		h := sha256.New()
		if _, err := io.Copy(h, streams[id]); err != nil {
			t.Fatal(err)
		}
		if want := sha256.Sum256(data); !bytes.Equal(h.Sum(nil), want[:]) {
			t.Fatalf("blob %d is mixed up", id)
		}
	}
	check(2) // while nobody reads 1
	if err := sender.Send(Heartbeat, 0, nil); err != nil {
		t.Fatal(err)
	}
	<-results
	check(1)
}

func TestStreamRefusesMoreThanTheWindow(t *testing.T) {
	s := NewStream(NewConn(bytes.NewReader(nil), io.Discard, AgentEnd), 1)
	var err error
	for range Window/ChunkSize + 1 {
		err = s.Push(make([]byte, ChunkSize))
	}
	var wrong *Error
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v", err)
	}
}

func TestCreditRefusesWildGrantsAndEndsWithItsContext(t *testing.T) {
	c := NewCredit()
	if err := c.Add(1); err == nil {
		t.Fatal("a grant beyond the window was taken")
	}
	if n, err := c.Take(t.Context(), Window+5); n != Window || err != nil {
		t.Fatalf("took %d, %v", n, err)
	}
	cause := errors.New("the host is gone")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := c.Take(ctx, 1); !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
}

func TestStreamEndsWithTheGivenError(t *testing.T) {
	s := NewStream(NewConn(bytes.NewReader(nil), io.Discard, AgentEnd), 1)
	if err := s.Push([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cut")
	s.End(cause)
	s.End(nil)
	got, err := io.ReadAll(s)
	if string(got) != "abc" || !errors.Is(err, cause) {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestHeartbeatNoticesSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		silent := NewConn(r, io.Discard, AgentEnd)
		go func() { _, _ = silent.Receive() }()
		begin := time.Now()
		err := silent.RunHeartbeat(t.Context(), DefaultHeartbeat, DefaultIdleTimeout)
		var lost *IdleTimeoutError
		if !errors.As(err, &lost) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(begin); took < DefaultIdleTimeout || took > DefaultIdleTimeout*5/4 {
			t.Fatalf("noticed after %v", took)
		}
		_ = w.Close()
	})
}

func TestHeartbeatKeepsIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		ended := make(chan error, 2)
		for _, c := range []*Conn{a, b} {
			go func() {
				for {
					if _, err := c.Receive(); err != nil {
						return
					}
				}
			}()
			go func() { ended <- c.RunHeartbeat(ctx, DefaultHeartbeat, DefaultIdleTimeout) }()
		}
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Fatal(err)
		}
		// Goroutines that still wait on the pipes are unblocked before the bubble
		// ends.
		synctest.Wait()
	})
}
