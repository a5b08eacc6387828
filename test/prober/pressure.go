package prober

import (
	"fmt"
	"os"
	"time"
)

// cpuWait returns the time for which some process of this machine has waited for a CPU
// since its boot, and false where the kernel does not count it (/proc/pressure).
func cpuWait() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0, false
	}
	return parsePressure(string(text))
}

// parsePressure reads the first line of a file of /proc/pressure; its total is in
// microseconds.
func parsePressure(text string) (time.Duration, bool) {
	var share float64
	var total int64
	_, err := fmt.Sscanf(text, "some avg10=%f avg60=%f avg300=%f total=%d", &share, &share, &share, &total)
	return time.Duration(total) * time.Microsecond, err == nil
}
