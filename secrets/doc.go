// Package secrets opens and seals files that are encrypted with age
// (https://age-encryption.org), so that passwords can live in a repository
// beside the inventory. The format is age's own: its command line and anything
// else that knows it read and write the same files.
package secrets
