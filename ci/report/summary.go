package report

import (
	"fmt"
	"html/template"
	"strings"
)

// maxSummary is the maximum number of bytes of the summary. Comments of GitHub have at most
// 65 536 characters; the rest is for the marks of masked secrets, which may be longer than
// the secrets.
const maxSummary = 60_000

// maxPlanText is the number of bytes of the text of one plan, and minPlanText the number
// below which it is left out.
const maxPlanText, minPlanText = 8000, 200

// maxSubject is the number of bytes of the subject of a commit.
const maxSubject = 500

// summary is a page whose size is limited. Its sections are written in the order of their
// importance.
type summary struct {
	b       strings.Builder
	omitted []string // numbers of items and what they are
}

// left returns the number of bytes that sections may have. The list of omitted items
// has its own space.
func (s *summary) left() int { return max(0, maxSummary-1000-s.b.Len()) }

// section writes a heading and as many of the items as fit into a share of the
// remaining bytes: 2 stands for one half. Nothing is written when no item fits.
func (s *summary) section(items string, share int, heading string, texts ...string) {
	room := s.left()/share - len(heading)
	n := 0
	for n < len(texts) && len(texts[n]) <= room {
		room -= len(texts[n])
		n++
	}
	if n > 0 {
		s.b.WriteString(heading + strings.Join(texts[:n], "") + "\n")
	}
	s.omit(len(texts)-n, items)
}

func (s *summary) omit(n int, items string) {
	if n > 0 {
		s.omitted = append(s.omitted, fmt.Sprintf("%d %s", n, items))
	}
}

// plans writes the plans of clusters; each has the same share of the remaining bytes.
func (s *summary) plans(clusters []*Cluster) {
	var planned []*Cluster
	for _, c := range clusters {
		if c.PlanText != "" {
			planned = append(planned, c)
		}
	}
	for i, c := range planned {
		before := fmt.Sprintf("<details><summary>Plan of %s, %s</summary>\n\n", template.HTMLEscapeString(c.Name), template.HTMLEscapeString(c.Plan))
		const after, cut = "\n</details>\n\n", "\n... (summary.html of the reports has the rest)"
		room := min(maxPlanText, s.left()/(len(planned)-i)-len(before)-len(after)-len(cut)-2*len(fence(c.PlanText))-len("\n\n"))
		if room < min(minPlanText, len(c.PlanText)) {
			s.omit(len(planned)-i, "plans")
			return
		}
		text := c.PlanText
		if len(text) > room {
			text = strings.ToValidUTF8(text[:room], "") + cut
		}
		s.b.WriteString(before + fenced(text) + after)
	}
}

// String returns the page.
func (s *summary) String() string {
	if len(s.omitted) > 0 {
		fmt.Fprintf(&s.b, "The summary has at most %d bytes: %s are left out. summary.html and report.json of the reports have all.\n", maxSummary, strings.Join(s.omitted, ", "))
	}
	return s.b.String()
}
