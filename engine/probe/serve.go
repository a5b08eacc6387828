package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// maxAtOnce is the maximum number of targets of a request checked in parallel.
const maxAtOnce = 64

// maxRequest is the maximum size of a request in bytes.
const maxRequest = 4 << 20

// Handler returns the HTTP service.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /hostname", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, hostname()+"\n") })
	mux.HandleFunc("POST /check", func(w http.ResponseWriter, r *http.Request) {
		var request Request
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&request); err != nil {
			http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		if len(request.Targets) > MaxTargets {
			http.Error(w, fmt.Sprintf("%d targets, the limit is %d", len(request.Targets), MaxTargets), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(Response{Host: hostname(), Results: CheckAll(r.Context(), request.Targets)})
	})
	return mux
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// CheckAll checks all targets in parallel and returns the results in order.
func CheckAll(ctx context.Context, targets []Target) []Result {
	results := make([]Result, len(targets))
	slots := make(chan struct{}, maxAtOnce)
	var all sync.WaitGroup
	for i, t := range targets {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			results[i] = Check(ctx, t)
		})
	}
	all.Wait()
	return results
}

// Serve serves a handler on an address such as ":8080" until ctx ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
