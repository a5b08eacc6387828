package staticpod

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// logFiles lists the logs of the pod's containers. The kubelet writes them to
// /var/log/pods/NAMESPACE_NAME-NODE_UID/CONTAINER/RESTARTS.log, so a new file means
// a new container.
func logFiles(sys engine.System, m manifest) []string {
	pattern := fmt.Sprintf("/var/log/pods/%s_%s-*_*/*/*.log", m.Metadata.Namespace, m.Metadata.Name)
	files, err := filepath.Glob(sys.Path(pattern))
	if err != nil {
		return nil // the pattern is always valid
	}
	return files
}

// Log returns the end of the newest log of a static pod's containers, or the reason why there
// is none.
func Log(sys engine.System, manifest string) string {
	m, err := (&Ready{Manifest: manifest}).read(sys)
	if err != nil {
		return err.Error()
	}
	return lastLog(sys, m)
}

// Wanted reports whether the host has the manifest of a static pod.
func Wanted(sys engine.System, manifest string) bool {
	_, err := os.Stat(sys.Path(manifest))
	return err == nil
}

// logOf returns the end of the log that has the reason of err: that of the container which
// has ended, otherwise the newest one.
func logOf(sys engine.System, m manifest, err error) string {
	if crash, ok := errors.AsType[*crashError](err); ok {
		if text := endOf(crash.endedLog()); text != "" {
			return text
		}
	}
	return lastLog(sys, m)
}

// lastLog returns the end of the newest log of the pod's containers.
func lastLog(sys engine.System, m manifest) string {
	newest, when := "", time.Time{}
	for _, f := range logFiles(sys, m) {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(when) {
			newest, when = f, info.ModTime()
		}
	}
	if newest == "" {
		return "none of its containers has written a log: see journalctl -u kubelet on the host, and deployer verify, which has the reason when the kubelet has refused the pod"
	}
	return endOf(newest)
}

// endOf returns the last 20 lines of a file, of at most 16 KiB.
func endOf(realPath string) string { return hostcmd.Tail(readEnd(realPath, 16<<10), 20) }

// readEnd returns at most n bytes of the end of a file; empty when it cannot be
// read, because the log is only an addition to another message.
func readEnd(realPath string, n int64) string {
	f, err := os.Open(realPath)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	start := max(0, info.Size()-n)
	buf := make([]byte, info.Size()-start)
	read, _ := f.ReadAt(buf, start)
	return string(buf[:read])
}
