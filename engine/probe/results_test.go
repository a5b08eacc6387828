package probe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResultsOfTests: files come from the directory only.
func TestResultsOfTests(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for path, content := range map[string]string{filepath.Join(dir, "junit_01.xml"): "<x/>", outside: "secret"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(ResultsHandler(dir))
	defer web.Close()
	for path, want := range map[string]int{
		"/ok": 200, "/files/junit_01.xml": 200, "/files/none": 404, "/files/link": 404, "/files/directory": 404,
		"/files/..%2fsecret": 400, "/files/%2e": 400, "/check": 404,
	} {
		response, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want || strings.Contains(string(body), "secret") || path == "/files/junit_01.xml" && string(body) != "<x/>" {
			t.Errorf("%s: %d %q %v, want %d", path, response.StatusCode, body, err, want)
		}
	}
}
