package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"time"
)

type writtenSuite struct {
	XMLName  xml.Name      `xml:"testsuite"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Time     string        `xml:"time,attr"`
	Cases    []writtenCase `xml:"testcase"`
}

type writtenCase struct {
	Name    string          `xml:"name,attr"`
	Class   string          `xml:"classname,attr"`
	Time    string          `xml:"time,attr"`
	Failure *writtenFailure `xml:"failure,omitempty"`
}

type writtenFailure struct {
	Text string `xml:",chardata"`
}

// Write writes the report as JUnit XML with the tests that ran: the report of the tests themselves also
// has the thousands that were not selected.
func (r *Report) Write(w io.Writer) error {
	suite := writtenSuite{Name: "Kubernetes conformance"}
	var total time.Duration
	for _, t := range slices.Concat(r.Suite, r.Tests) {
		c := writtenCase{Name: t.Name, Class: suite.Name, Time: seconds(t.Elapsed)}
		if t.Failure != "" {
			suite.Failures++
			c.Failure = &writtenFailure{t.Failure}
		}
		total += t.Elapsed
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests, suite.Time = len(suite.Cases), seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
