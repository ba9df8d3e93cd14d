-- HTTP by libmicrohttpd, which is looked for when something is served, in the loop of the run: a request is a call of a
-- function. MHD's manual: https://www.gnu.org/software/libmicrohttpd/manual/
local ffi     = require "ffi"
local library = require "uplua.base.library"
local loop    = require "uplua.base.loop"

local http = {}

local CONNECTIONS = 64        -- at a time; what comes then waits for one of these to end
local MEMORY      = 16 * 1024 -- of a connection: for the head of its request, half of it, and the answer's
local PATIENCE    = 5         -- seconds that a client may do nothing

-- Seconds between two turns, at most: where as many were connected as may be, the library looks for others again only
-- behind a turn for which it does not ask.
local LONGEST     = 1

ffi.cdef [[
struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;
typedef int (*uplua_http_handler)(void *context, struct MHD_Connection *connection, const char *url,
  const char *method, const char *version, const char *upload, size_t *upload_size, void **request);
struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, void *accept, void *accept_context,
  uplua_http_handler handler, void *context, ...);
int MHD_quiesce_daemon(struct MHD_Daemon *daemon);
void MHD_stop_daemon(struct MHD_Daemon *daemon);
const union { int fd; } *MHD_get_daemon_info(struct MHD_Daemon *daemon, int what, ...);
int MHD_run(struct MHD_Daemon *daemon);
int MHD_get_timeout(struct MHD_Daemon *daemon, unsigned long long *milliseconds);
const char *MHD_lookup_connection_value(struct MHD_Connection *connection, int kind, const char *key);
struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *body, int memory);
int MHD_add_response_header(struct MHD_Response *response, const char *header, const char *content);
int MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
void MHD_destroy_response(struct MHD_Response *response);
void MHD_suspend_connection(struct MHD_Connection *connection);
void MHD_resume_connection(struct MHD_Connection *connection);
]]

-- Of microhttpd.h.
local USE_EPOLL, ALLOW_SUSPEND_RESUME = 512, 8192 + 1024
local OPTION_END, OPTION_MEMORY, OPTION_CONNECTIONS, OPTION_PATIENCE, OPTION_SOCKET = 0, 1, 2, 3, 12
local INFO_EPOLL_FD, HEADER_KIND, ARGUMENT_KIND, MUST_COPY, YES, NO = 3, 1, 8, 2, 1, 0

-- load_library() → libmicrohttpd. Raises that it is not there, and how it is had.
function http.load_library()
  return library.first { "libmicrohttpd.so.12", "libmicrohttpd.so" } or
    error("--serve needs libmicrohttpd: apt-get install libmicrohttpd12", 0)
end

-- Calls FN(...) outside of compiled code: C may call back from there.
local function interpreted(fn, ...) return fn(...) end
jit.off(interpreted)

local Server = {}
Server.__index = Server

-- Sends STATUS and BODY, with HEADERS, { name = text }, by CONNECTION.
function Server:send(connection, status, body, headers)
  local mhd = self.library
  local response = mhd.MHD_create_response_from_buffer(#body, ffi.cast("void *", ffi.cast("const char *", body)),
    MUST_COPY)
  if response == nil then return NO end
  for name, text in pairs(headers or {}) do mhd.MHD_add_response_header(response, name, text) end
  local sent = mhd.MHD_queue_response(connection, status, response)
  mhd.MHD_destroy_response(response)
  return sent
end

-- Goes on with what the library has to do, now and when it wants.
function Server:turn()
  local mhd, daemon = self.library, self.daemon
  if not daemon then return end
  self.timer.fn = nil
  self.turning = true
  repeat
    self.again = false
    interpreted(mhd.MHD_run, daemon)
  until not self.again
  self.turning = false
  local asked = mhd.MHD_get_timeout(daemon, self.milliseconds) == YES and tonumber(self.milliseconds[0]) / 1e3
  self:turn_at(loop.now() + math.min(asked or LONGEST, LONGEST))
end

-- The same once it is TIME, if that is not done anyway before.
function Server:turn_at(time)
  self.timer.fn = nil
  self.timer = loop.at(time, function() self:turn() end)
end

-- Lets CONNECTION go on, which waits for an answer.
function Server:resume(connection, key)
  self.waiting[key] = nil
  self.library.MHD_resume_connection(connection)
  if self.turning then self.again = true else self:turn_at(loop.now()) end
end

-- What the library tells of a request: first that its head is there, then its body, at the end that it is to be
-- answered, by a function that may take its time, and again once that has.
function Server:request(connection, url, method, upload_size, request)
  local key = tonumber(ffi.cast("uintptr_t", connection))
  if request[0] == nil or upload_size[0] > 0 then -- a body is read, and forgotten
    request[0] = ffi.cast("void *", 1)
    upload_size[0] = 0
    return YES
  end
  local answer = self.answers[key]
  if answer then
    self.answers[key] = nil
    return self:send(connection, answer[1], answer[2], answer[3])
  end
  method = ffi.string(method)
  if method ~= "GET" and method ~= "HEAD" then
    return self:send(connection, 405, "only GET and HEAD are answered here\n", { Allow = "GET, HEAD" })
  end
  local mhd = self.library
  local function asked(kind)
    return function(name)
      local found = mhd.MHD_lookup_connection_value(connection, kind, name)
      return found ~= nil and ffi.string(found) or nil
    end
  end
  mhd.MHD_suspend_connection(connection)
  self.waiting[key] = connection
  local asks = { path = ffi.string(url), header = asked(HEADER_KIND), argument = asked(ARGUMENT_KIND) }
  self.handler(asks, function(...)
    if not self.waiting[key] then return end -- the server has ended meanwhile
    self.answers[key] = { ... }
    self:resume(connection, key)
  end)
  return YES
end

-- serve(socket, handler) → the server. SOCKET: of core.listener. handler(request, answer) is called for each request,
-- { path =, header(name), argument(name) → text or nil }; it calls answer(status, body, headers) once, now or later.
-- Raises that the library is not there.
function http.serve(socket, handler)
  local mhd = http.load_library()
  local self = setmetatable({
    library = mhd, handler = handler, milliseconds = ffi.new "unsigned long long[1]",
    waiting = {}, -- the address of a connection that waits for its answer → it
    answers = {}, -- … of one that has it → { status, body, headers }
    timer = {},
    turning = false, again = false,
  }, Server)
  self.callback = ffi.cast("uplua_http_handler", function(_, connection, url, method, _, _, upload_size, request)
    local ok, result = pcall(self.request, self, connection, url, method, upload_size, request)
    if ok then return result end
    loop.warn("a request is not answered: " .. tostring(result))
    return NO
  end)
  self.daemon = mhd.MHD_start_daemon(bit.bor(USE_EPOLL, ALLOW_SUSPEND_RESUME), 0, nil, nil, self.callback, nil,
    ffi.cast("int", OPTION_SOCKET), ffi.cast("int", socket:fd()),
    ffi.cast("int", OPTION_MEMORY), ffi.cast("size_t", MEMORY),
    ffi.cast("int", OPTION_CONNECTIONS), ffi.cast("unsigned", CONNECTIONS),
    ffi.cast("int", OPTION_PATIENCE), ffi.cast("unsigned", PATIENCE), ffi.cast("int", OPTION_END))
  if self.daemon == nil then
    self.callback:free()
    error(("--serve %s: libmicrohttpd does not begin"):format(socket:shown()), 0)
  end
  self.fd = mhd.MHD_get_daemon_info(self.daemon, INFO_EPOLL_FD).fd
  loop.watch(self.fd, function() self:turn() end)
  return self
end

-- Ends the server with its connections. Who waits for an answer gets none.
function Server:close()
  local mhd, daemon = self.library, self.daemon
  if not daemon then return end
  loop.unwatch(self.fd)
  for key, connection in pairs(self.waiting) do
    self.answers[key] = { 503, "this run ends\n" }
    self:resume(connection, key)
  end
  self:turn()
  self.timer.fn = nil
  self.daemon = nil
  mhd.MHD_quiesce_daemon(daemon) -- the socket is its owner's
  interpreted(mhd.MHD_stop_daemon, daemon)
  self.callback:free()
end

return http
