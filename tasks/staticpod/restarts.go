package staticpod

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// maxRestarts is how often a container may be started again while its pod is waited
// for. The kubelet starts it again at once, and then after 10, 20 and 40 s
// (kubernetes pkg/kubelet, backOffPeriod): the third restart comes after half a
// minute, and what was wrong three times does not come right by itself.
const maxRestarts = 3

// restarts are the numbers of the last restarts of a pod's containers, by the
// directories of their logs.
type restarts map[string]int

// restartsOf reads them from the names of log files, DIRECTORY/RESTARTS.log.
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
// earlier. A pod whose manifest comes back has the directory, and goes on with
// the numbers, that it had before.
func (r restarts) since(earlier restarts) error {
	for dir, n := range r {
		if again := n - earlier[dir]; again >= maxRestarts {
			return fmt.Errorf("container %s has ended and was started again %d times", filepath.Base(dir), again)
		}
	}
	return nil
}
