// Package zonefile reads zones from master files (RFC 1035 section 5): every
// record type that the DNS library knows and, by RFC 3597, those it doesn't,
// with $ORIGIN, $TTL, $INCLUDE inside the file's folder, and $GENERATE.
//
// Load reads all files once. What a zone can't hold (a CNAME beside other data,
// two SOAs) is a fault that names file and line; what is merely odd is a
// finding. A Set then reads anew what changes: a file that breaks later keeps
// the zone as it was, and says so.
//
// It knows no Kubernetes and no DNS messages: its records are
// zones.StaticSets.
package zonefile
