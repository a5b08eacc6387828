package noderenewal

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// failedPause is the time after a failed renewal in which no other is tried, so that processes do not restart each
// hour because of something else. A certificate that has expired does not wait.
const failedPause = 24 * time.Hour

// failureName is the name of the file in the state directory that is there since a renewal has failed.
const failureName = "node-certificates-failed"

// failedAt returns the time at which the last renewal failed; zero when it did not.
func (r *Renewal) failedAt() time.Time {
	info, err := os.Stat(filepath.Join(r.StateDir, failureName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// noteFailure keeps the time of a failure, or forgets the former one when there is none. It returns the failure.
func (r *Renewal) noteFailure(failure error) error {
	path := filepath.Join(r.StateDir, failureName)
	if failure == nil {
		_ = os.Remove(path) // mostly there is none
		return nil
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("%w; and that it failed could not be written down: %w", failure, err)
	}
	return failure
}
