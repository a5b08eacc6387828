package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"deployer/engine/sanitize"
)

// maxName is the maximum length of a name of a test, in bytes. The longest one of v1.36 has 270.
const maxName = 400

// maxTests bounds the number of tests of a log and a report; v1.36 has 7600 of all kinds.
const maxTests = 100_000

// progress is what the log of the tests says so far. The log counts, because the progress reports that the
// tests can post have no ends of tests in v1.36 (see the decision about conformance tests).
type progress struct {
	total          int // tests that will run; 0 while unknown
	passed, failed int
	last           string // name of the test that began or ended last
	expect         bool   // the next line is the name of a test
	lastFailed     bool   // of a test that has failed
	hasStarted     bool   // the log has begun
}

// Lines of ginkgo in its verbose form (ginkgo reporters, DefaultReporter). Output of tests is indented.
var (
	totalLine = regexp.MustCompile(`^Will run ([0-9]{1,6}) of [0-9]+ specs`)
	endLine   = regexp.MustCompile(`^• (\[(?:FAILED|PANICKED|TIMEDOUT|INTERRUPTED|ABORTED)\] )?\[[0-9.]+ seconds\]`)
	ruler     = "------------------------------"
	labels    = regexp.MustCompile(` \[[^\]\[]*, [^\]\[]*\]$`)
)

// add adds a line of the log, and returns the name of a test that has failed; empty for any other line. In serial
// runs a test is named before it begins, and again when it has failed; in parallel ones after it has ended.
func (p *progress) add(line string) (failed string) {
	line = strings.TrimRight(line, "\r\n")
	p.hasStarted = true
	expected, wasFailed := p.expect, p.lastFailed
	p.expect, p.lastFailed = false, false
	switch {
	case line == ruler:
		p.expect = true
	case totalLine.MatchString(line):
		if n, err := strconv.Atoi(totalLine.FindStringSubmatch(line)[1]); err == nil && n <= maxTests {
			p.total = n
		}
	case endLine.MatchString(line):
		p.expect = true
		if p.lastFailed = endLine.FindStringSubmatch(line)[1] != ""; p.lastFailed {
			p.failed++
		} else {
			p.passed++
		}
	case expected && strings.HasPrefix(line, "[sig-"):
		p.last = cleanName(labels.ReplaceAllString(strings.Replace(line, " [It] ", " ", 1), ""))
		if wasFailed {
			return p.last
		}
	}
	return ""
}

// String is the state in one line: 12 of 47 tests, 1 failed: [sig-network] DNS ...
func (p *progress) String() string {
	switch {
	case !p.hasStarted:
		return "waiting for the tests to start"
	case p.total == 0:
		return "the tests start"
	}
	text := fmt.Sprintf("%d of %d tests", p.passed+p.failed, p.total)
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	if p.last != "" {
		text += ": " + p.last
	}
	return text
}

// cleanName makes a name of a test safe to show, in one line.
func cleanName(name string) string { return sanitize.FirstLine(sanitize.Line(name), maxName) }
