package htmlpage

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"deployer/engine"
	"deployer/runs/timeline"
)

func emptyTimeline() *timeline.Timeline { return timeline.NewCollector(start).Timeline(nil) }

// elements returns the elements of a page with their attributes and texts.
func elements(t *testing.T, text string) (names map[string]int, attributes []html.Attribute, scripts []string, styles []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		names[n.Data]++
		attributes = append(attributes, n.Attr...)
		if n.FirstChild != nil && n.Data == "script" {
			scripts = append(scripts, n.FirstChild.Data)
		}
		if n.FirstChild != nil && n.Data == "style" {
			styles = append(styles, n.FirstChild.Data)
		}
	}
	return names, attributes, scripts, styles
}

// TestHostileTexts puts markup into every text that hosts and playbooks give, and compares
// the elements of the page with those of the same run without markup.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	run := func(bad string) string {
		failed := end(3, "h"+bad, "s"+bad, "step"+bad, 1, engine.StatusFailed)
		failed.Role = "role" + bad
		failed.Result.Failure = &engine.Failure{Message: "message" + bad, Detail: "detail" + bad}
		failed.Result.Delegate = "delegate" + bad
		report := &engine.Report{Aborted: "aborted" + bad, LeftOpen: []string{"left" + bad}, Elapsed: 4 * time.Second, Hosts: []engine.HostReport{
			{Host: "h" + bad, Failed: 1, FailedStep: "step" + bad, Failure: failed.Result.Failure, Restored: &engine.RestoreResult{Failure: "restore" + bad}},
			{Host: "i" + bad, Failed: 1, FailedStep: "step" + bad, Failure: failed.Result.Failure, Restored: &engine.RestoreResult{Failure: "restore" + bad}}, {Host: "c" + bad, Cancelled: true}}}
		r, path := log(t, wait(1, "i"+bad, `label "l`+bad+`": h`+bad), failed, wait(3, "i"+bad, ""), wait(3, "i"+bad, "other"+bad), wait(3.5, "i"+bad, ""),
			engine.Event{Time: second(4), Type: engine.EventRunEnd, Report: report})
		r.Header.By, r.Header.Run, r.Header.Deployer = "by"+bad, "run"+bad, "version"+bad
		return render(t, r, path)
	}
	plainNames, plainAttributes, _, _ := elements(t, run(""))
	for _, bad := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</script><script>alert(1)</script>`, `</style></title></pre><b>`,
		`<!--<script>`, `' onmouseover='alert(1)`, `{{.Title}}`, "\u2028\u0000&lt;<svg/onload=alert(1)>"} {
		text := run(bad)
		names, attributes, scripts, styles := elements(t, text)
		for name, n := range names {
			if plainNames[name] != n {
				t.Errorf("%q: %d elements %s, want %d", bad, n, name, plainNames[name])
			}
		}
		if len(attributes) != len(plainAttributes) {
			t.Errorf("%q: %d attributes, want %d", bad, len(attributes), len(plainAttributes))
		}
		if len(scripts) != 2 || scripts[1] != script || len(styles) != 1 || styles[0] != style {
			t.Fatalf("%q: the page has not just the script and the style of this package", bad)
		}
		var lanes Lanes
		if err := json.Unmarshal([]byte(scripts[0]), &lanes); err != nil {
			t.Fatalf("%q: the data is no JSON: %v", bad, err)
		}
		if want := "role" + bad + ": step" + bad; lanes.Steps[0] != want {
			t.Errorf("%q: step %q", bad, lanes.Steps[0])
		}
	}
}

// TestNothingFromOutside checks that the page requests nothing from elsewhere, and
// that its policy allows only its own style and script.
func TestNothingFromOutside(t *testing.T) {
	t.Parallel()
	r, path := log(t, smallRun()...)
	_, attributes, scripts, styles := elements(t, render(t, r, path))
	found := ""
	for _, a := range attributes {
		switch {
		case a.Key == "src", a.Key == "style", strings.HasPrefix(a.Key, "on"), a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
			t.Errorf("attribute %s=%q", a.Key, a.Val)
		case a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
			found = a.Val
		}
	}
	want := "default-src 'none'; style-src '" + digest(styles[0]) + "'; script-src '" + digest(scripts[1]) + "'; base-uri 'none'; form-action 'none'"
	if found != want {
		t.Errorf("policy %q, want %q", found, want)
	}
	for _, bad := range []string{"url(", "@import", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch(", "http:", "https:"} {
		if strings.Contains(style+script, bad) {
			t.Errorf("style or script contain %s", bad)
		}
	}
}
