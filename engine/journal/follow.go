package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"deployer/engine"
)

// followPoll is the interval at which Follow checks for new lines.
const followPoll = 200 * time.Millisecond

// Follow is Scan for a run that may still be running: at the end of the file it waits for
// more, until the run has ended or was killed, or ctx ends. Damaged lines are
// skipped.
func Follow(ctx context.Context, path string, on func(*Header, *engine.Event) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the log of a run: %w", err)
	}
	defer f.Close()
	var rest []byte
	for {
		alive, err := locked(path) // before reading, so that no line is missed
		if err != nil {
			return err
		}
		more, err := io.ReadAll(f)
		if err != nil {
			return fmt.Errorf("reading the log of a run: %w", err)
		}
		rest, err = lines(append(rest, more...), on)
		if errors.Is(err, errStopScan) || err == nil && !alive {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPoll):
		}
	}
}

// lines calls on for each complete line and returns the incomplete rest. The error
// is errStopScan after the end of the run.
func lines(data []byte, on func(*Header, *engine.Event) error) ([]byte, error) {
	for {
		text, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			return data, nil
		}
		data = rest
		var l line
		if json.Unmarshal(text, &l) != nil || l.Header == nil && l.Event == nil {
			continue // damaged, or of another version
		}
		complete(l.Event)
		if err := on(l.Header, l.Event); err != nil {
			return nil, err
		}
		if l.Event != nil && l.Event.Type == engine.EventRunEnd {
			return nil, errStopScan
		}
	}
}
