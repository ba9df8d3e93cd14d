-- SHA-256 (FIPS 180-4) by OpenSSL's library, which is looked for when it is first asked for.
local ffi     = require "ffi"
local library = require "uplua.base.library"

local digest = {}

-- https://docs.openssl.org/3.0/man3/SHA256_Init/; the context has 112 bytes.
ffi.cdef [[
typedef struct { uint64_t words[32]; } uplua_sha256;
int SHA256_Init(uplua_sha256 *context);
int SHA256_Update(uplua_sha256 *context, const void *data, size_t size);
int SHA256_Final(unsigned char digest[32], uplua_sha256 *context);
]]

local NAMES = { "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so" }

-- sha256(bytes) → the digest in hexadecimal digits; nil and how the library is had where it is not there.
function digest.sha256(bytes)
  local crypto = library.first(NAMES)
  if not crypto then return nil, "SHA-256 needs OpenSSL's libcrypto: apt-get install openssl" end
  local context, found, hex = ffi.new "uplua_sha256", ffi.new "unsigned char[32]", {}
  crypto.SHA256_Init(context)
  crypto.SHA256_Update(context, bytes, #bytes)
  crypto.SHA256_Final(found, context)
  for i = 0, 31 do hex[i + 1] = ("%02x"):format(found[i]) end
  return table.concat(hex)
end

return digest
