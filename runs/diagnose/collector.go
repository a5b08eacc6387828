package diagnose

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"deployer/engine"
	"deployer/internal/tempdir"
	"deployer/runs/diagnose/rules"
	"deployer/runs/diagnose/scrub"
	"deployer/tasks/control/report"
)

// filePrefix begins the names of the tasks whose output is a file of the archive.
const filePrefix = "collect "

// Collector receives the events of a run of the playbook diagnose. Collector is safe for
// concurrent use.
type Collector struct {
	limit int64
	dir   *tempdir.Dir
	jobs  chan engine.Event
	work  sync.WaitGroup

	mu    sync.Mutex
	hosts map[string]*hostState
	rows  []report.Row // of the whole cluster, and of hosts by name
	err   error        // the first of writing to the temporary directory
}

// hostState is the state of a host beside its files.
type hostState struct {
	connected    time.Time
	received     map[string]time.Time // by file
	size         int64
	versions     map[string]string
	failures     []rules.Failure
	certificates []any
}

// NewCollector returns a collector that keeps at most limit bytes of each host. The caller
// must call Close.
func NewCollector(limit int64) (*Collector, error) {
	dir, err := tempdir.New("", "deployer-diagnose-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the outputs of hosts: %w", err)
	}
	c := &Collector{limit: limit, dir: dir, jobs: make(chan engine.Event), hosts: map[string]*hostState{}}
	for range runtime.GOMAXPROCS(0) {
		c.work.Go(func() {
			for e := range c.jobs {
				c.store(e)
			}
		})
	}
	return c, nil
}

// Emit implements engine.Sink.
func (c *Collector) Emit(e engine.Event) {
	switch {
	case e.Type == engine.EventHostUp:
		c.mu.Lock()
		defer c.mu.Unlock()
		if h := c.host(e.Host); h.connected.IsZero() {
			h.connected = e.Time
		}
	case e.Type == engine.EventStepEnd && e.Result != nil:
		c.jobs <- e
	}
}

// host returns the state of a host. The caller holds the lock.
func (c *Collector) host(name string) *hostState {
	h := c.hosts[name]
	if h == nil {
		h = &hostState{received: map[string]time.Time{}, versions: map[string]string{}}
		c.hosts[name] = h
	}
	return h
}

// store stores the result of a task.
func (c *Collector) store(e engine.Event) {
	if message := failureMessage(e.Result); message != "" {
		c.mu.Lock()
		h := c.host(e.Host)
		h.failures = append(h.failures, rules.Failure{Task: e.Name, Message: message})
		c.mu.Unlock()
	}
	if file, ok := strings.CutPrefix(e.Name, filePrefix); ok && filepath.IsLocal(file) {
		c.storeFile(e, file)
		return
	}
	rows := report.OfStep(e)
	for i := range rows {
		rows[i].Detail, rows[i].Fix = scrub.Text(rows[i].Detail), scrub.Text(rows[i].Fix)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows = append(c.rows, rows...)
	h := c.host(e.Host)
	if found, ok := e.Result.Output["versions"].(map[string]any); ok {
		for name, v := range found {
			if text, ok := v.(string); ok {
				h.versions[name] = text
			}
		}
	}
	if list, ok := e.Result.Output["certificates"].([]any); ok {
		h.certificates = append(h.certificates, list...)
	}
}

// failureMessage returns the message of a failed task without secrets; empty for others.
func failureMessage(r *engine.Result) string {
	if r.Failure == nil {
		return ""
	}
	return scrub.Text(r.Failure.Message)
}

// storeFile writes the output of a command to the temporary directory.
func (c *Collector) storeFile(e engine.Event, file string) {
	text, _ := e.Result.Output["stdout"].(string)
	if stderr, _ := e.Result.Output["stderr"].(string); stderr != "" {
		text += "\n# standard error\n" + stderr
	}
	if text == "" {
		return
	}
	text = scrub.Text(text) + "\n"
	c.mu.Lock()
	h := c.host(e.Host)
	h.received[file] = e.Time
	text = cut(text, c.limit-h.size)
	h.size += int64(len(text))
	c.mu.Unlock()
	path := filepath.Join(c.dir.Path, e.Host, filepath.FromSlash(file))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = fmt.Errorf("storing what %s has sent: %w", e.Host, err)
		}
	}
}

// cutMark begins a text whose first part was left out.
const cutMark = "[... left out: the host has reached its limit ...]\n"

// cut returns the end of a text that fits into a number of bytes.
func cut(text string, left int64) string {
	if int64(len(text)) <= left {
		return text
	}
	if left <= 0 {
		return cutMark
	}
	return cutMark + strings.ToValidUTF8(text[int64(len(text))-left:], "")
}

// finish waits for the outputs that are being stored. No event may come later.
func (c *Collector) finish() error {
	close(c.jobs)
	c.work.Wait()
	c.jobs = nil
	return c.err
}

// Close removes the temporary directory.
func (c *Collector) Close() error {
	if c.jobs != nil {
		_ = c.finish() // the archive is not written
	}
	return c.dir.Remove()
}

// read returns the files of a host by name.
func (c *Collector) read(host string) (map[string]rules.File, error) {
	out := map[string]rules.File{}
	for file, at := range c.host(host).received {
		text, err := os.ReadFile(filepath.Join(c.dir.Path, host, filepath.FromSlash(file)))
		if err != nil {
			return nil, fmt.Errorf("reading what %s has sent: %w", host, err)
		}
		out[file] = rules.File{Text: string(text), Received: at}
	}
	return out, nil
}

// jsonText encodes a value as indented JSON.
func jsonText(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding a file of the archive: %w", err)
	}
	return string(text) + "\n", nil
}
