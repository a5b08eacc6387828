// Package images knows every binary, archive and container image that
// deployer puts on hosts: its name, version, architecture and digest, where it
// comes from, and where the controller keeps it.
//
// The parts, in the order data flows through them:
//
//   - [Catalogue]: names, versions and upstream addresses. Pure data, embedded.
//   - [Source]: a place that offers artifacts and states their digests; the
//     publishers' own servers, a mirror of them, or a directory.
//   - [Lock]: deployer.lock beside the inventory. What was once accepted is
//     pinned there; a source that offers anything else is refused.
//   - [Store]: content-addressed files in the user's cache directory. A file
//     gets its name only after its digest was checked.
//   - [Resolver]: ties them together. Fetch brings artifacts into the store,
//     Resolve hands out what is pinned and checked, and nothing else.
//
// Package build makes a directory source without any publisher's server.
package images
