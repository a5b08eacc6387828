package pipeline

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// job is the context of the commands of one stage.
type job struct {
	log string        // file in the directory of reports; empty for none
	env []string      // environment variables of the stage
	out *maskedWriter // the output of the run, in lines of this stage
}

// newJob returns the job of a stage. Lines of the output begin with a prefix when it is not
// empty.
func (p *Pipeline) newJob(stage, prefix string, env []string) job {
	return job{log: logName(stage), env: env, out: &maskedWriter{to: prefixWriter{p.console, prefix}, secrets: p.secrets}}
}

// silent returns a job of the same stage whose commands leave no output and no log.
func (p *Pipeline) silent(j job) job {
	return job{env: j.env, out: &maskedWriter{to: io.Discard, secrets: p.secrets}}
}

// logName returns the name of the log of a stage.
func logName(stage string) string { return strings.ReplaceAll(stage, " ", "-") + ".log" }

func (j job) printf(format string, args ...any) { fmt.Fprintf(j.out, format, args...) }

// lockedWriter passes each Write on as a whole. lockedWriter is safe for concurrent use.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// prefixWriter writes a prefix before each line. A Write must have whole lines.
type prefixWriter struct {
	to     io.Writer
	prefix string
}

// Write implements io.Writer.
func (w prefixWriter) Write(p []byte) (int, error) {
	if w.prefix == "" {
		return w.to.Write(p)
	}
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		b.WriteString(w.prefix)
		b.WriteString(line)
	}
	if _, err := io.WriteString(w.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
