package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/engine/sanitize"
)

// Limits of the log of the tests, in bytes. A kubelet keeps 10 MiB in one file (containerLogMaxSize).
const (
	maxLogPart = 32 << 20
	maxLog     = 512 << 20
)

// logCopy copies the log of the tests into a file, part by part, while they run: the kubelet gives out its
// newest file only.
type logCopy struct {
	file    *os.File
	written int64
	newest  time.Time // of the lines that were copied
	last    string    // the last line that is not blank
	full    bool      // maxLog is reached
}

// openLog makes the file.
func openLog(dir string) (*logCopy, error) {
	file, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("writing the log of the tests: %w", err)
	}
	return &logCopy{file: file}, nil
}

// query returns the query of the lines that may be new. The API rounds times to seconds.
func (l *logCopy) query() string {
	query := url.Values{"container": {testsContainer}, "timestamps": {"true"}, "limitBytes": {fmt.Sprint(maxLogPart)}}
	if !l.newest.IsZero() {
		query.Set("sinceTime", l.newest.UTC().Format(time.RFC3339))
	}
	return query.Encode()
}

// add copies the lines of a part that are new, and calls visit with each. A last line without its end comes again
// in the next part, unless the part is the last one.
func (l *logCopy) add(part []byte, final bool, visit func(string)) error {
	var out bytes.Buffer
	for raw := range bytes.Lines(part) {
		if !final && !bytes.HasSuffix(raw, []byte("\n")) {
			break
		}
		stamp, line, ok := strings.Cut(string(raw), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if !ok || err != nil || !at.After(l.newest) {
			continue
		}
		l.newest = at
		line = sanitize.Text(line)
		visit(line)
		if strings.TrimSpace(line) != "" {
			l.last = strings.TrimSpace(line)
		}
		out.WriteString(line)
	}
	if l.full || out.Len() == 0 {
		return nil
	}
	if l.written += int64(out.Len()); l.written > maxLog {
		l.full = true
		out.Reset()
		fmt.Fprintf(&out, "\n[... the log has more than %d MiB; the rest is left out ...]\n", maxLog>>20)
	}
	_, err := l.file.Write(out.Bytes())
	return err
}

// close closes the file.
func (l *logCopy) close() error { return errors.Join(l.file.Sync(), l.file.Close()) }

// readLog copies what is new in the log, and warns of each test that has failed.
func (r *run) readLog(ctx context.Context, final bool) error {
	var part bytes.Buffer
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log?%s", Namespace, podName, r.log.query())
	if err := r.get(ctx, path, &part, maxLogPart+1); err != nil {
		return err
	}
	return r.log.add(part.Bytes(), final, func(line string) {
		if name := r.progress.add(line); name != "" {
			r.o.Warn("failed: " + name)
		}
	})
}

// writeClean writes a text without control characters other than line ends and tabs.
func writeClean(path string, content *bytes.Buffer) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	w := bufio.NewWriter(file)
	for err == nil {
		var line string
		line, err = content.ReadString('\n')
		_, _ = w.WriteString(sanitize.Text(line)) // the error comes back from Flush
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
