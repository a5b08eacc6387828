package reboot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/tasks/control/kube"
)

// apiTimeout is the maximum time for an answer of the API, with retries. After it a shutdown goes on: in
// a cluster that goes down as a whole no API server comes back.
const apiTimeout = 10 * time.Second

// Host is a node's own host.
type Host struct {
	config Config
	record record
	log    *slog.Logger
	api    *kube.Client

	// The host's files and answers, which tests replace.
	goingDown func(context.Context) (bool, error)
	mountinfo string
	bootID    string
	interval  time.Duration // between two looks at pods, volumes or the Node
}

// Options are the settings of a [Host].
type Options struct {
	Config   string // path of the configuration
	StateDir string // directory of the record
	Log      *slog.Logger
}

// New reads the configuration. It opens no connection.
func New(o Options) (*Host, error) {
	config, err := ReadConfig(o.Config)
	if err != nil {
		return nil, err
	}
	api, err := connect(config.API)
	if err != nil {
		return nil, err
	}
	return &Host{
		config: config, record: record{filepath.Join(o.StateDir, RecordFile)}, log: o.Log, api: api,
		goingDown: goingDown, mountinfo: "/proc/self/mountinfo", bootID: "/proc/sys/kernel/random/boot_id", interval: 500 * time.Millisecond,
	}, nil
}

// ask makes one request of the API, which has apiTimeout.
func ask[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeoutCause(ctx, apiTimeout, fmt.Errorf("no answer within %s", apiTimeout))
	defer cancel()
	out, err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", context.Cause(limited), err)
	}
	return out, err
}

// readBootID returns the id of this boot, as the kubelet reports it.
func (h *Host) readBootID() (string, error) {
	text, err := os.ReadFile(h.bootID)
	return strings.TrimSpace(string(text)), wrap("reading the id of the boot", err)
}
