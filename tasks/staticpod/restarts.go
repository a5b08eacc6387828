package staticpod

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// maxRestarts is the maximum number of restarts of a container during the wait for its pod.
// The kubelet starts it again at once, and then after 10, 20 and 40 s (kubernetes
// pkg/kubelet, backOffPeriod): the third restart comes after half a minute, and a container
// that fails three times fails again.
const maxRestarts = 3

// restarts has the numbers of the last restarts of a pod's containers, by the
// directories of their logs.
type restarts map[string]int

// restartsOf returns the restarts from the names of log files,
// DIRECTORY/RESTARTS.log.
func restartsOf(logs []string) restarts {
	found := restarts{}
	for _, path := range logs {
		dir, file := filepath.Split(path)
		if n, err := strconv.Atoi(strings.TrimSuffix(file, ".log")); err == nil {
			found[dir] = max(found[dir], n)
		}
	}
	return found
}

// since returns an error when a container has been started again too often since
// earlier. A pod whose manifest is restored has its former directory, and continues
// its former numbers.
func (r restarts) since(earlier restarts) error {
	for dir, n := range r {
		if again := n - earlier[dir]; again >= maxRestarts {
			return &crashError{dir: dir, number: n, again: again}
		}
	}
	return nil
}

// crashError reports a container that ends again and again.
type crashError struct {
	dir    string // directory of its logs
	number int    // number of its last restart
	again  int    // restarts during the wait
}

func (e *crashError) Error() string {
	return fmt.Sprintf("container %s has ended and was started again %d times", filepath.Base(e.dir), e.again)
}

// endedLog returns the path of the log of the last container that has ended. The log of the
// container after it may be empty still.
func (e *crashError) endedLog() string {
	return filepath.Join(e.dir, strconv.Itoa(e.number-1)+".log")
}
