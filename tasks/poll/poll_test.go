package poll

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	gone := errors.New("gone")
	interrupted := errors.New("interrupted")
	for _, c := range []struct {
		name string
		done func(n int) (string, bool, error)
		want string
	}{
		{"at once", func(int) (string, bool, error) { return "", true, nil }, ""},
		{"after a while", func(n int) (string, bool, error) { return "no", n == 3, nil }, ""},
		{"fails", func(int) (string, bool, error) { return "", false, gone }, "gone"},
		{"an error that passes", func(n int) (string, bool, error) {
			if n < 3 {
				return "", false, Later(gone)
			}
			return "", true, nil
		}, ""},
		{"never", func(int) (string, bool, error) { return "still dark", false, nil }, "timeout after 50ms: still dark"},
		{"an error that does not pass", func(int) (string, bool, error) { return "", false, Later(gone) }, "timeout after 50ms: gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			err := Until(context.Background(), 50*time.Millisecond, time.Millisecond, func(context.Context) (string, bool, error) {
				n++
				return c.done(n)
			})
			if got := text(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	err := Until(ctx, time.Minute, time.Hour, func(context.Context) (string, bool, error) {
		cancel(interrupted)
		return "", false, nil
	})
	if !errors.Is(err, interrupted) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
