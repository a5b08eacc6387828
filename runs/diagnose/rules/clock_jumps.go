package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clockJumps reads lines of the second before a jump and its length in seconds.
func clockJumps(h Host) []Finding {
	const file = "system/clock-jumps.txt"
	var found []string
	back := false
	for _, line := range h.lines(file) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		at, err := strconv.ParseInt(f[0], 10, 64)
		length, lengthErr := strconv.ParseInt(f[1], 10, 64)
		if err != nil || lengthErr != nil {
			continue
		}
		word := "forward"
		if length < 0 {
			word, length, back = "back", -length, true
		}
		found = append(found, fmt.Sprintf("at %s by %s %s", time.Unix(at, 0).UTC().Format(time.DateTime), time.Duration(length)*time.Second, word))
	}
	if len(found) == 0 {
		return nil
	}
	f := Finding{Severity: Warning, Title: "the clock has jumped", File: file, Evidence: counted(found),
		Advice: "find what sets the clock (journalctl around that time); a time service slews it"}
	if back {
		f.Severity = Critical
		f.Advice += "; after a jump back certificates may not be valid yet, and the kubelet may take old containers for new ones: look at static pods that do not run"
	}
	return []Finding{f}
}
