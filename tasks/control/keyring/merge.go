package keyring

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Merge merges the files of several masters. A file with the same content on every
// master that has it is taken; the other masters receive it. Encryption configurations
// may differ by the keys of a rotation ([encryption.Merge]), and authorities by its phases
// ([mergeAuthority]). Any other file that differs between masters is an error with every
// host and its fingerprint: no rule can decide which cluster is the right one.
func Merge(held map[string]Files) (Files, error) {
	merged, conflicts := Files{}, map[string]string{}
	for _, path := range keptPaths() {
		content, conflict := mergeFile(path, held)
		if conflict != "" {
			conflicts[path] = conflict
		}
		if content != nil {
			merged[path] = content
		}
	}
	for _, d := range domains() {
		if conflicts[d.certPath]+conflicts[d.keyPath]+conflicts[d.nextPath] == "" {
			continue
		}
		files, err := mergeAuthority(d, held)
		if err != nil {
			continue // the conflicts say which masters differ
		}
		for _, path := range []string{d.certPath, d.keyPath, d.nextPath} {
			delete(conflicts, path)
			delete(merged, path)
		}
		maps.Copy(merged, files)
	}
	if len(conflicts) > 0 {
		return nil, fmt.Errorf("masters hold different keys: %s; keep the files of the masters that belong to the cluster and remove them from the others",
			strings.Join(slices.Sorted(maps.Values(conflicts)), "; "))
	}
	return merged, nil
}

func mergeFile(path string, held map[string]Files) (content []byte, conflict string) {
	hosts := map[string][]string{} // fingerprint -> hosts
	for _, host := range slices.Sorted(maps.Keys(held)) {
		data := bytes.TrimSpace(held[host][path])
		if len(data) == 0 {
			continue // absent, or cut short before the first byte
		}
		sum := fingerprint(data)
		hosts[sum] = append(hosts[sum], host)
		if content == nil {
			content = held[host][path]
		}
	}
	if len(hosts) < 2 {
		return content, ""
	}
	if path == EncryptionConf {
		if merged, err := mergeEncryption(held); err == nil {
			return merged, ""
		}
	}
	var rows []string
	for _, sum := range slices.Sorted(maps.Keys(hosts)) {
		rows = append(rows, fmt.Sprintf("%s on %s", sum, strings.Join(hosts[sum], ", ")))
	}
	return nil, fmt.Sprintf("%s is %s", path, strings.Join(rows, " and "))
}

// fingerprint identifies content without showing it: for a certificate the SHA-256 of
// its DER form, as openssl x509 -fingerprint prints it, for several ones that of all of
// them, otherwise the SHA-256 of the bytes. 8 bytes of it suffice to distinguish files.
func fingerprint(data []byte) string {
	if certs, err := ParseCertificates(data); err == nil {
		data = nil
		for _, c := range certs {
			data = append(data, c.Raw...)
		}
	}
	digest := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(digest[:8])
}
