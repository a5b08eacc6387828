package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"deployer/engine/sanitize"
	"deployer/tasks/poll"
)

// Names of the files of the results, those of the publisher's runner.
const (
	junitFile = "junit_01.xml"
	logFile   = "e2e.log"
)

// collectTime is the maximum time of the download of all results.
const collectTime = 5 * time.Minute

// collect writes the results into the directory, and returns the report.
func (r *run) collect(ctx context.Context, end podState) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, collectTime, fmt.Errorf("the results were not read within %s", collectTime))
	defer cancel()
	logErr := r.retry(ctx, func() error { return r.readLog(ctx, true) })
	var junit bytes.Buffer
	err := r.retry(ctx, func() error {
		junit.Reset()
		return r.download(ctx, "files/"+junitFile, &junit, maxReport)
	})
	var status statusError
	switch {
	case errors.As(err, &status) && status.code == http.StatusNotFound:
		return nil, fmt.Errorf("the tests ended with %d without a report: %s", end.code, sanitize.FirstLine(sanitize.Line(r.log.last), maxCause))
	case err != nil:
		return nil, fmt.Errorf("reading the report of the tests: %w", err)
	case logErr != nil:
		r.o.Warn(fmt.Sprintf("the log of the tests could not be read: %v", logErr))
	}
	if err := writeClean(filepath.Join(r.o.Dir, junitFile), &junit); err != nil {
		return nil, err
	}
	written, err := os.Open(filepath.Join(r.o.Dir, junitFile))
	if err != nil {
		return nil, err
	}
	defer written.Close()
	found, err := parseReport(bufio.NewReader(written))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", written.Name(), err)
	}
	if r.o.JUnit == "" {
		return found, nil
	}
	var short bytes.Buffer
	if err := found.Write(&short); err != nil {
		return nil, err
	}
	if err := renameio.WriteFile(r.o.JUnit, short.Bytes(), 0o644); err != nil {
		return nil, fmt.Errorf("writing %s: %w", r.o.JUnit, err)
	}
	return found, nil
}

// download reads from the container with the results, through the API server's proxy to pods.
func (r *run) download(ctx context.Context, path string, w io.Writer, limit int64) error {
	return r.get(ctx, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/%s", Namespace, podName, resultsPort, path), w, limit)
}

// statusError is an answer of the API, or of the pod behind it, that is no success.
type statusError struct {
	code int
	text string
}

func (e statusError) Error() string {
	return fmt.Sprintf("the API server returned %d: %s", e.code, e.text)
}

func (r *run) get(ctx context.Context, path string, w io.Writer, limit int64) error {
	code, err := r.o.Client.Download(ctx, path, w, limit)
	if err != nil || code == http.StatusOK {
		return err
	}
	text := ""
	if b, ok := w.(*bytes.Buffer); ok {
		text = sanitize.FirstLine(sanitize.Line(b.String()), maxCause)
		b.Reset()
	}
	return statusError{code, text}
}

// retry repeats do until it succeeds, or the pod says that there is no such file, or ctx ends.
func (r *run) retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		var status statusError
		if err == nil || errors.As(err, &status) && status.code == http.StatusNotFound || poll.Sleep(ctx, r.o.times.poll) != nil {
			return err
		}
	}
}
