package probe

import (
	"io"
	"net/http"
	"os"
	"regexp"
)

// resultFile is a name of a file that the service gives out.
var resultFile = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// ResultsHandler returns the HTTP service of a container next to one that runs tests: GET /files/NAME
// gives out a file of dir. The container outlives the tests, so that their files can be read.
func ResultsHandler(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) { giveFile(w, dir, r.PathValue("name")) })
	return mux
}

// giveFile writes a regular file of dir. Links that lead out of dir are not followed.
func giveFile(w http.ResponseWriter, dir, name string) {
	if !resultFile.MatchString(name) {
		http.Error(w, "not a name of a file", http.StatusBadRequest)
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(name)
	if err != nil {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.Error(w, "not a regular file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.Copy(w, file)
}
